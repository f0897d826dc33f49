"""Test doubles for users' tests as well as ours."""
