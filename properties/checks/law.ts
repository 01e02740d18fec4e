/** How a check says which law is broken: by its number in `laws.md`. */

/** A law did not hold. */
export class LawBroken extends Error {
  override readonly name = 'LawBroken'
  readonly law: string

  constructor(law: string, detail: string, options?: ErrorOptions) {
    super(`${law}: ${detail}`, options)
    this.law = law
  }
}

/** @throws LawBroken when the condition is false. */
export function hold(law: string, condition: boolean, detail: string | (() => string)): asserts condition {
  if (!condition) throw new LawBroken(law, typeof detail === 'string' ? detail : detail())
}

/** Compares two values as JSON text. @throws LawBroken when they differ. */
export function same(law: string, what: string, actual: unknown, expected: unknown): void {
  const [is, should] = [actual, expected].map((value) =>
    typeof value === 'string' ? value : JSON.stringify(value),
  )
  hold(law, is === should, () => `${what}\n  is        ${is}\n  should be ${should}`)
}

/** Runs something that must not throw. @throws LawBroken when it does. */
export function total<T>(law: string, what: string, run: () => T): T {
  try {
    return run()
  } catch (error) {
    if (error instanceof LawBroken) throw error
    throw new LawBroken(law, `${what} threw ${String(error)}`, { cause: error })
  }
}
