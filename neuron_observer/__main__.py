"""`python -m neuron_observer`: the same as the command `neuron-observer`."""

from neuron_observer.cli import main

if __name__ == "__main__":
    main()
