"""Builds and tests the Debian packages and the image, in bare systems created with debootstrap.

`python3 -m walrelay_package package [RELEASE…]` and `python3 -m walrelay_package image-test`; scripts/dev runs both.
"""
