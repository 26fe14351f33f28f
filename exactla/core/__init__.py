"""The algorithms, written against `exactla.backend.Backend` alone; nothing here knows an array library or a device."""
