/** V5: requests only grow at the end. */

import type { Fact } from '../../src/event/quarantine.ts'
import type { NeutralMessage } from '../../src/messages/message.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import type { Branch } from '../../src/state/branch.ts'
import { replay } from '../../src/state/reduce.ts'
import { branchOf, type Checkpoint, type State } from '../../src/state/state.ts'
import { isPending, type Unit } from '../../src/view/units.ts'
import { same } from '../../src/testing/failure.ts'
import { GRAMMARS } from './messages.ts'

/** A branch's messages, and its requests in the order of GRAMMARS. */
interface Reading {
  readonly messages: readonly NeutralMessage[]
  readonly requests: readonly (readonly string[])[]
}

export function checkPrefix(facts: readonly Fact[]): void {
  const state = replay(facts)
  const readings = new Map<Branch, Reading>()
  const readingOf = (branch: Branch): Reading => {
    const known = readings.get(branch)
    if (known !== undefined) return known
    const messages = toMessages({ ...state, branch })
    const requests = messages.length === 0 ? [] : GRAMMARS.map(({ write }) => listLeavesIn(write(messages)))
    readings.set(branch, { messages, requests })
    return { messages, requests }
  }
  for (const entry of state.log.entries) {
    const { event, parent } = entry
    if (
      !entry.canBeHead ||
      event === null ||
      event.kind === 'Condensation' ||
      event.kind === 'SystemPromptEvent'
    )
      continue
    const after = branchOf(entry)
    // A late reply goes before newer messages: compare only the units before it.
    const before = upTo(placeOf(branchOf(parent), entry), branchOf(parent))
    if (changesInside(before.view.units, after.view.units)) continue
    const { messages: was, requests: allSent } = readingOf(before)
    const { messages: is, requests: allSends } = readingOf(after)
    same('V5', `messages after position ${entry.seq}`, parts(is).slice(0, parts(was).length), parts(was))
    // A request with only a system prompt has a filler, which real messages replace.
    if (!was.some((message) => message.role !== 'system')) continue
    for (const [index, { name }] of GRAMMARS.entries()) {
      const [all = [], sends] = [allSent[index], allSends[index]]
      // Later messages replace the filler after a final reply.
      const sent = all.at(-1)?.includes('[Go on.]') === true ? all.slice(0, -1) : all
      same(
        'V5',
        `${name} after position ${entry.seq}`,
        sends?.slice(0, sent.length),
        sent.map(orWords(sends)),
      )
    }
  }
}

/** A pending server call becomes text unless its result directly follows and can be sent. */
const orWords =
  (sends: readonly string[] = []) =>
  (part: string, index: number, sent: readonly string[]): string => {
    const [, kind = '', , id] =
      /"type":"(server_tool_use|program)"(,"id":"\w+","call_id"|,"id"):"(\w+)"/.exec(part) ?? []
    const results = [`"tool_use_id":"${id}"`, `"call_id":"${id}","result"`]
    const waits = !sent.some((each) => results.some((result) => each.includes(result)))
    const replacement = sends[index] ?? ''
    return kind !== '' && waits && replacement.includes(`"[${kind}: `) ? replacement : part
  }

/** Index at which an entry added a unit, or the number of units. */
function placeOf({ view: { units } }: Branch, entry: Checkpoint): number {
  const now = entry.branch.view.units
  if (now.length === units.length) return units.length
  for (let index = 0; index < units.length; index += 1) if (units.get(index) !== now.get(index)) return index
  return units.length
}

function upTo(position: number, branch: Branch): Branch {
  const { view } = branch
  if (position === view.units.length) return branch
  return { ...branch, view: { ...view, units: view.units.range(0, position) } }
}

type Units = State['branch']['view']['units']

/** Changes to a batch other than the last pending one are exceptions of V5. */
export function changesInside(before: Units, after: Units): boolean {
  const last = before.length - 1
  for (let index = 0; index <= last; index += 1) {
    const [was, is] = [before.get(index) as Unit, after.get(index) as Unit]
    if (was === is) continue
    return index < last || !isPending(was)
  }
  return false
}

/** User messages merge, so their parts are separate. */
const parts = (messages: readonly NeutralMessage[]): string[] =>
  messages.flatMap((message) =>
    message.role === 'user'
      ? message.content.map((part) => JSON.stringify(['user', message.name, part]))
      : [JSON.stringify(message)],
  )

/** As `role part`, in order. */
function listLeavesIn(request: unknown): string[] {
  const { system, instructions, systemInstruction, messages, input, contents } = request as Readonly<
    Record<string, unknown>
  >
  const list = (Array.isArray(request) ? request : (messages ?? input ?? contents)) as readonly Readonly<
    Record<string, unknown>
  >[]
  return [
    JSON.stringify([system ?? instructions ?? systemInstruction ?? null]),
    ...list.flatMap(({ content, parts: current = content, ...rest }) =>
      Array.isArray(current)
        ? [
            ...current.map((part) => JSON.stringify([rest['role'], part])),
            ...('tool_calls' in rest ? [JSON.stringify(rest)] : []),
          ]
        : [JSON.stringify({ ...rest, content })],
    ),
  ]
}
