import { parseArgs } from 'node:util'

/** Parses a command's arguments; prints an error in one line and exits with 2. */
export function orUsage<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error))
    process.exit(2)
  }
}

/** Rejects any argument. */
export const noArguments = (): void => void orUsage(() => parseArgs())
