"""What backends share whose memory is not the host's: the verbs as launches of the kernels, in terms of a `Device`."""
