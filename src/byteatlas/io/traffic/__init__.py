"""What goes over the network: counted, measured for each server, and told to logs and traces."""
