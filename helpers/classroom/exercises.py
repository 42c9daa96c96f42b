"""The course's exercises: the cell of each. A page's copies keep its cells' ids."""

# {the exercise's page and number: the id of the cell that holds its stub}, a page a line
EXERCISES = {
    "00.1": "00-add", "00.2": "00-product", "00.3": "00-idle", "00.4": "00-reads",
    "01.1": "01-bytes", "01.2": "01-seconds", "01.3": "01-w2", "01.4": "01-t3",
    "02.1": "02-owners", "02.2": "e7db0c3e", "02.3": "f473b40a",
    "03.0": "03-c15", "03.1": "03-c31", "03.2": "03-block",
    "04.0": "04-stage", "04.1": "04-c31", "04.2": "3914779a", "04.3": "04-fits",
    "05.1": "05-target", "05.2": "05-column", "05.3": "05-c31", "05.4": "05-cuda",
    "06.1": "06-target", "06.2": "06-patch", "06.3": "06-c31", "06.4": "06-c35",
    "07.1": "07-c25", "07.2": "07-c40", "07.3": "07-c29",
    "08.1": "08-c24", "08.2": "08-c28", "08.3": "08-c37",
    "09.1": "09-c30", "09.2": "09-c41",
    "10.1": "10-c30", "10.2": "10-waiting",
    "11.1": "11-c28", "11.2": "b70c4dfb", "11.3": "11-lucky",
    "12.1": "12-instructions", "12.2": "12-c31", "12.3": "f2ca2db6",
    "13.1": "13-ahead", "13.2": "13-c20", "13.3": "13-share",
    "14.1": "14-c23", "14.2": "14-fma",
    "15.1": "46a27a456b804aa2a380d5edf15a5daf", "15.2": "15-plan", "15.3": "15-s2",
    "16.1": "16-c16", "16.2": "16-q2",
    "17.1": "17-c26", "17.2": "17-d2", "17.3": "17-d7",
    "18.1": "18-w5", "18.2": "18-w9", "18.3": "18-choice",
}  # fmt: skip
# Digests of the cells that an exercise begins with: who leaves one as it is has not tried. The last edition's stay.
AS_GIVEN = """
9c2d8572 979da48d 7c5711a6 49d6c31c cd68163c 9b4be860 67c1e71d cd0ec407 bf76c655 10a2f646 b3055235 47922db3 0e9b1e0a
bb6825d1 6b0b4f04 9fd62b93 2b378de3 f26b31ec a7fdadc2 93c66174 8d50a254 1ffae709 24c34e83 ed2f5173 dfea5b90 640eb19b
fe738a36 2515bcde a545a53e 5121ca3e 05140faa 8bb2ebec 9b211f80 7a2b7ff1 c4acde06 9692365a 63ee5792 0c8a6f42 f73e9b20
43883660 4063d29b c3535ba6 699c49d0 7c80cdf2 f72ca5c7 6dc36a8a 3104206d f96f04d6 3043bff4 cd22ce2a 02fc82ae 3bad52fa
69d9a764 b368aa41 b98d7897 1653d1d7 650f09fc 395729ba af0d0d33 34858c24 c302f06b e587040c 6e910598 75e34af4 2c908f80
3fc4ff02 98d7d153 4901cffd 474bc96d bc9d2ed3 106abff1 be1578f5 7e5761f0 dac4173a 7930b40c 82bf7af0 99f6dfe9 0f67ece9
fee4fee1 4f66b640 f5062f0a c89da78d ae3312b2 f6e953e0 f0cd3e65
"""
