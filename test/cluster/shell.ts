/** Runs system programs and reports their output on failure. */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/** Returns standard output. @throws Error with standard error. */
export async function sh(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  try {
    const { stdout } = await execute(program, [...args], {
      env: { ...process.env, ...env },
      maxBuffer: 2 ** 26,
    })
    return stdout
  } catch (error) {
    const output = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : ''
    throw new Error(`${program} ${args.join(' ')}: ${output || String(error)}`, { cause: error })
  }
}

export async function tryTo(program: string, args: readonly string[]): Promise<string> {
  return sh(program, args).catch(() => '')
}

/** Polls a condition; false on timeout, in milliseconds. */
export async function eventually(
  holds: () => Promise<boolean> | boolean,
  timeout: number,
  interval = 100,
): Promise<boolean> {
  const end = performance.now() + timeout
  for (;;) {
    if (await holds()) return true
    if (performance.now() >= end) return false
    await new Promise((resolve) => setTimeout(resolve, interval))
  }
}
