"""The command `watersmeet simulate`: its file, its screen."""
