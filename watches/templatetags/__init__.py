"""What other rooms' templates may use of this one."""
