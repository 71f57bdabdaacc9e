"""Pages of this room: all of one's watches, one watch with its log, and the buttons of both."""
