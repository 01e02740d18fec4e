import { parseArgs } from 'node:util'

/** Reads the arguments of a command of the repository; for what is wrong with them it says so in one line and exits 2. */
export function orUsage<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error))
    process.exit(2)
  }
}

/** The same for a command that takes none. */
export const noArguments = (): void => void orUsage(() => parseArgs())
