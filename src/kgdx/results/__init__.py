"""The one schema of what comes out: diagnoses, answers, and the evidence of both.

The classes are plain dataclasses, which rankers, actions and policies make. Two documents put them together:
:class:`~kgdx.results.ranked.DiagnosisDocument` and :class:`~kgdx.results.cited.AnswerDocument`. The JSON of Python's
``to_dict``, of files and of the server, the pages, the terminal's tables and the reference are made from these.
"""
