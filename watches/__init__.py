"""What changed since, told once: signed webhooks and mails, through an outbox."""
