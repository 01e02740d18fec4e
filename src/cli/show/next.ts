/** Small pieces that pages of lists share: times, and the command to type for the next page. */

/** Microseconds since 1970 as people read them, to the second, in UTC. */
export function instant(micros: bigint): string {
  const date = new Date(Number(micros / 1000n))
  // The store takes years that a Date does, but one far off would have another width.
  return date
    .toISOString()
    .replace(/\.\d+Z$/, '')
    .replace('T', ' ')
}

/** How colloquy is called here: in its own repository it is no command of the shell. */
export const CALLED = import.meta.url.endsWith('.ts') ? 'npm run -s colloquy --' : 'npx colloquy'

/** A command with its options as a shell takes them; what is undefined is left out. */
export function commandLine(
  command: string,
  options: readonly (readonly [name: string, value: string | true | undefined])[],
): string {
  const words = options.flatMap(([name, value]) => {
    if (value === undefined) return []
    if (value === true) return [`--${name}`]
    // A value that begins as an option does must stand in one word with its name.
    return value.startsWith('-') ? [inShell(`--${name}=${value}`)] : [`--${name}`, inShell(value)]
  })
  return [CALLED, command, ...words].join(' ')
}

const PLAIN = /^[\w@%+=:,./-]+$/

const inShell = (text: string): string => (PLAIN.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)
