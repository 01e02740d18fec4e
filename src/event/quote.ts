/** Text of unknown origin, made safe and short enough for a message. O(length). */
export function quote(text: string | null): string {
  const shown = JSON.stringify(text ?? '')
  return shown.length > 80 ? `${shown.slice(0, 76)}…"` : shown
}
