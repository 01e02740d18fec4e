/** Gives every call of a request an id that is unique there and legal for its provider. */

/** Which call ids a provider takes. */
export interface IdForm {
  /** A global pattern that matches each character it refuses. */
  readonly illegal: RegExp
  readonly maxLength: number
}

/** Room for the number behind a repeated id. */
const ROOM = 8

/**
 * A giver of ids for one request. An id that is legal and new stays as it is. What it gives depends on the ids before
 * only, so that a longer history keeps the ids of a shorter one; it never gives the same id twice. O(1) amortised an
 * id.
 *
 * @example
 * const give = callIds({ illegal: /[^a-z]/g, maxLength: 40 })
 * give('c') // 'c'
 * give('c') // 'c_2'
 */
export function callIds(form: IdForm): (given: string) => string {
  const used = new Set<string>()
  // Counted by what stands before the number, so that no two counters ever meet, however ids were cut.
  const numbers = new Map<string, number>()
  return (given) => {
    const legal = given.replace(form.illegal, '_').slice(0, form.maxLength) || 'call'
    let id = legal
    if (used.has(id)) {
      const stem = legal.slice(0, form.maxLength - ROOM)
      let number = numbers.get(stem) ?? 2
      while (used.has(`${stem}_${number}`)) number += 1
      numbers.set(stem, number + 1)
      id = `${stem}_${number}`
    }
    used.add(id)
    return id
  }
}
