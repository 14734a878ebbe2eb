/** Width of the terminal while `fitting` renders a text; `null`: the text is not for a terminal. */
let width: number | null = null;

/** Returns the width of the terminal for which a text is rendered; `null` if it is not for a terminal. */
export const terminalWidth = (): number | null => width;

/**
 * Renders a text whose tables fit a terminal.
 *
 * The width is set during the call, not passed to it, because tables are parts of texts that many functions build.
 */
export function fitting(columns: number, render: () => string): string {
  width = columns;
  try {
    return render();
  } finally {
    width = null;
  }
}
