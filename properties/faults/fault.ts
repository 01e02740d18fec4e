/** One changed line in a copy of src/, for which at least one law must fail. */

export interface Fault {
  readonly name: string
  /** Path under src/. */
  readonly file: string
  /** Text that occurs exactly once in the file. */
  readonly find: string
  readonly replace: string
}
