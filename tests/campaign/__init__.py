"""The campaign: hostile files, tables, arrays, run folders, options, kills and full disks, made at random by a seed.

`python -m tests.campaign --minutes 30` goes on for as long as it is asked to; a sample of it is in the tests.
"""
