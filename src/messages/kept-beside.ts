/** Results that are kept as long as what they were made of. */

/** The function, which makes its result once for each object and keeps it beside that. */
export function keptBeside<Of extends object, T extends object | string | null>(
  make: (of: Of) => T,
): (of: Of) => T {
  const known = new WeakMap<Of, T>()
  return (of) => {
    let made = known.get(of)
    if (made === undefined) known.set(of, (made = make(of)))
    return made
  }
}
