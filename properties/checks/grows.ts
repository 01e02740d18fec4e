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

export function checkPrefix(facts: readonly Fact[]): void {
  const state = replay(facts)
  for (const entry of state.log.entries) {
    const { event, parent } = entry
    if (
      !entry.canBeHead ||
      event === null ||
      event.kind === 'Condensation' ||
      event.kind === 'SystemPromptEvent'
    )
      continue
    const after = { ...state, branch: branchOf(entry) }
    // A late reply goes before newer messages: compare only the units before it.
    const before = upTo(placeOf(branchOf(parent), entry), { ...state, branch: branchOf(parent) })
    if (changesInside(before.branch.view.units, after.branch.view.units)) continue
    const [was, is] = [toMessages(before), toMessages(after)]
    same('V5', `messages after position ${entry.seq}`, parts(is).slice(0, parts(was).length), parts(was))
    // A request with only a system prompt has a filler, which real messages replace.
    if (!was.some((message) => message.role !== 'system')) continue
    for (const { name, write } of GRAMMARS) {
      const [sent = [], sends] = [write(was), write(is)].map(listLeavesIn)
      // Later messages replace the filler after a final reply.
      if (sent.at(-1)?.includes('[Go on.]') === true) sent.pop()
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

function upTo(position: number, state: State): State {
  const { branch } = state
  return {
    ...state,
    branch: { ...branch, view: { ...branch.view, units: branch.view.units.range(0, position) } },
  }
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
