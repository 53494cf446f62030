"""What pytest loads for all tests of this repository."""

pytest_plugins = ["pytester"]
