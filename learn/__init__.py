"""The words of the field, with live figures of the catalog."""
