"""Who asks: accounts, tokens with scopes, and what each may do."""
