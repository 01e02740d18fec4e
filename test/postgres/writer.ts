/** Writes until it is killed, and prints each acknowledgement for later checks. */

import { postgresStore } from '../../src/store/postgres/index.ts'
import type { Event } from '../../src/event/types.ts'
import type { AppendOptions } from '../../src/store/contract/store.ts'

const [url = '', schema = '', name = ''] = process.argv.slice(2)
const print = (line: unknown): boolean => process.stdout.write(`${JSON.stringify(line)}\n`)

/** A long string shared by the events of both writers. */
const image = (i: number): string => `${i % 4}`.repeat(100_000)

print('go')
const store = postgresStore({ url, schema })
await store.createConversation({ id: 'c' }).catch(() => undefined)

for (let i = 0; ; i += 1) {
  const facts = batch(i)
  // A short-lived conversation with a long string that other events may share.
  if (i % 5 === 4) {
    const [id, key] = [`${name}-${i}`, 'n']
    await store.createConversation({ id })
    await store.append(id, [{ kind: 'ConversationStateUpdateEvent', id, key, value: image(i) }])
    await store.deleteConversation(id)
  }
  await Promise.all([
    append(facts, i % 7 === 6 ? { mode: 'import' } : {}),
    // These wait for the append above and are sent together.
    ...Array.from({ length: i % 4 }, (_, n) => append([{ kind: 'PauseEvent', id: `${name}-${i}+${n}` }])),
  ])
}

async function append(facts: readonly Event[], options: AppendOptions = {}): Promise<void> {
  const { events } = await store.append('c', facts, options)
  print(events.map(({ seq, id }) => [seq, id]))
}

/** One or several events, sometimes with a branch or a state update. */
function batch(i: number): Event[] {
  const id = `${name}-${i}`
  if (i % 11 === 10)
    return [{ kind: 'ConversationStateUpdateEvent', id, key: 'leaf_event_id', value: `${name}-${i - 2}` }]
  if (i % 3 !== 2) return [{ kind: 'PauseEvent', id }]
  return [
    { kind: 'ConversationStateUpdateEvent', id: `${id}.0`, key: 'n', value: image(i) },
    ...Array.from({ length: 1 + (i % 5) }, (_, n): Event => ({
      kind: 'PauseEvent',
      id: n === 0 ? id : `${id}.${n}`,
    })),
  ]
}
