"""What is raised where a step cannot be proven."""


class Unproven(ArithmeticError):
    """A step that could not be proven; nothing is then proven of its property."""
