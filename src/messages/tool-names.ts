/** Makes a tool's name one that providers take. */

/**
 * The name with an underscore for every other character, cut to `maxLength`; `tool` for one that is empty. O(length).
 */
export function toolName(given: string, maxLength: number): string {
  return given.replace(/[^a-zA-Z0-9_-]/gu, '_').slice(0, maxLength) || 'tool'
}
