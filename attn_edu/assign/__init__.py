"""Chapters as assignments: handed out, graded, and summed up for a class."""
