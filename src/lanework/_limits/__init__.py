"""What a process has of the cluster's limits: holds of permits, slices of rates."""
