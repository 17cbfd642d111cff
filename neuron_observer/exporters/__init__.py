"""What goes out: the Prometheus page and the HTTP seam; everything here is handed a `Feed`."""
