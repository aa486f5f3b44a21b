import re


def is_java_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return True
