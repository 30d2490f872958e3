# The pages of the window, in the order of their tabs and of Ctrl+1, Ctrl+2, ...: one folder each, which defines
# make_NAME_page() (gui/widgets/page.h). The window, `tapelens view --page` and its completion use this list.
set(TAPELENS_PAGES
  timeline
  peak
  advice
  steps
  modules
  compare
  segments
  ranks
)
