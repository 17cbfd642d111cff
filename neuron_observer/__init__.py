"""Health, stragglers and hangs of AWS Trainium and Inferentia machines."""

__version__ = "0.1.0"
