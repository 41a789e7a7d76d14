"""Object storage (S3, Google, Azure) through obstore, which is imported when the first object is asked for."""
