/** A deliberate fault: one line of a copy of src/ is changed, and at least one law must fail. */

export interface Fault {
  /** What is wrong with the code then. */
  readonly name: string
  /** The file, under src/. */
  readonly file: string
  /** Text that occurs exactly once in it. */
  readonly find: string
  readonly replace: string
}
