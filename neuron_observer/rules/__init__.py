"""Rules as data: what log lines mean (`patterns/*.yaml`), and how they are found."""
