"""Charts and page style shared by the report and a dashboard.

Here are the colour themes, figures on a shared x axis, downsampling of long series, the charts of a
replay, and the style sheet and script of a page that embeds them. Charts draw plain arrays: nothing
here reads files, knows models or imports the packages above.
"""
