import { hold, same } from '../failure.ts'
import { it, type ServerCheck, test, type Trial } from './trial.ts'
import type { LiveFrame, ServerSocket, StreamQuery } from './client.ts'

const isOfLog = ({ type }: LiveFrame): boolean => type === 'event'

const idsIn = (frames: readonly LiveFrame[]): (string | undefined)[] =>
  frames.filter(isOfLog).map(({ event }) => event.id)

const isReply = ({ type, event }: LiveFrame): boolean =>
  type === 'event' && event.kind === 'MessageEvent' && event.source === 'agent'

const says =
  (status: string) =>
  ({ event }: LiveFrame): boolean =>
    event.key === 'execution_status' && event.value === status

export async function caughtUp(trial: Trial, id: string, after?: number): Promise<ServerSocket> {
  const socket = trial.client.connect(id, after === undefined ? {} : { after })
  await trial.within(
    'B2',
    'no caught_up arrived',
    socket.find(({ type }) => type === 'caught_up'),
  )
  return socket
}

export const received = (trial: Trial, socket: ServerSocket, id: string | undefined): Promise<LiveFrame> =>
  trial.within(
    'B1',
    'an event did not arrive',
    socket.find((frame) => isOfLog(frame) && frame.event.id === id),
  )

export const LIVE: readonly ServerCheck[] = [
  it('B1 [sockets] a reader receives each event after its position once and in order, wherever its connections break', async (trial, id) => {
    const whole = await caughtUp(trial, id, -1)
    const parts: LiveFrame[] = []
    let after = -1
    let last: string | undefined
    for (let round = 0; round < 5; round += 1) {
      const socket = trial.client.connect(id, { after })
      for (let index = 0; index < 3; index += 1) last = await trial.say(id, [], false)
      if (round === 3)
        await trial.play(id, [{ says: [trial.note('n'), trial.note('m')] }, { says: ['A reply as text.'] }])
      await received(trial, socket, last)
      // The next connection receives all later frames again.
      const end = socket.frames.findIndex((frame) => isOfLog(frame) && frame.event.id === last)
      const events = socket.frames.slice(0, end + 1).filter(isOfLog)
      socket.close()
      parts.push(...events)
      after = events.at(-1)?.position ?? after
    }
    await received(trial, whole, last)
    const before = await trial.log(id)
    const late = await caughtUp(trial, id, -1)
    whole.close()
    late.close()
    // The server may append more events, which only one of the readers may have received.
    const upToLast = (frames: readonly LiveFrame[]): (string | undefined)[] =>
      idsIn(frames).slice(0, idsIn(frames).indexOf(last) + 1)
    const wanted = upToLast(late.frames)
    same('B1', 'events over several connections', idsIn(parts), wanted)
    same('B1', 'events over one connection', upToLast(whole.frames), wanted)
    const positions = late.frames.filter(isOfLog).map(({ position }) => position)
    same('B1', 'the positions', positions, [...positions.keys()])
    const missing = before.filter((event) => !idsIn(late.frames).includes(event.id))
    same('B1', 'events that no reader received', missing, [])
  }),
  it('B2 [sockets] a reader receives one caught_up, after past events and before new ones', async (trial, id) => {
    const before = await trial.say(id, [], false)
    const socket = await caughtUp(trial, id, -1)
    const after = await trial.say(id, [], false)
    await received(trial, socket, after)
    socket.close()
    const names = socket.frames.map(({ type, event }) => (type === 'caught_up' ? type : event.id))
    same('B2', 'number of caught_up frames', names.filter((index) => index === 'caught_up').length, 1)
    const order = [before, 'caught_up', after].map((index) => names.indexOf(index))
    const isOrdered = order.every((index, n) => index >= 0 && (n === 0 || index > (order[n - 1] ?? 0)))
    hold('B2', isOrdered, `before, caught_up and after are at ${order.join(', ')}`)
    const idle = await caughtUp(trial, id)
    idle.close()
    same('B1', 'past events for a reader at the end', idsIn(idle.frames), [])
  }),
  it('W3 B1 [sockets stream] a stream of server-sent events equals a socket, and resumes after the last id', async (trial, id) => {
    const last = [await trial.say(id, [], false), await trial.say(id, [], false)].at(-1)
    const socket = await caughtUp(trial, id, -1)
    socket.close()
    const read = async (query: StreamQuery, end: string | undefined): Promise<LiveFrame[]> => {
      const frames: LiveFrame[] = []
      for await (const frame of trial.client.stream(id, query)) {
        frames.push(frame)
        if (frame.event.id === end) break
      }
      return frames.filter(isOfLog)
    }
    const first = await trial.within('W3', 'an event did not arrive', read({ after: -1 }, last))
    same('W3', 'the events of the stream', idsIn(first), idsIn(socket.frames))
    const next = await trial.say(id, [], false)
    const lastEventId = String(first.at(-1)?.position)
    const rest = await trial.within('B1', 'an event did not arrive', read({ lastEventId }, next))
    same('B1', 'the events after the last id', idsIn(rest), [next])
  }),

  it('W3 B2 [sockets] the deltas of a reply precede it, add up to it, and are in no log', async (trial, id) => {
    const socket = await caughtUp(trial, id)
    const text = 'One two three four five.'
    await trial.play(id, [{ says: [text] }])
    await trial.within('B1', 'the reply did not arrive', socket.find(isReply))
    socket.close()
    const pieces = socket.frames
      .slice(0, socket.frames.findIndex(isReply))
      .flatMap(({ event }) => (event.kind === 'StreamingDeltaEvent' ? [event.content ?? ''] : []))
    same('W3', 'the joined deltas', pieces.join('').trim(), text)
    const stored = (await trial.log(id)).filter(({ kind }) => kind === 'StreamingDeltaEvent')
    same('W3', 'number of deltas in the log', stored.length, 0)
    const late = await caughtUp(trial, id, -1)
    late.close()
    const again = late.frames.filter(({ event }) => event.kind === 'StreamingDeltaEvent')
    same('W3', 'number of deltas for a later reader', again.length, 0)
  }),
  it('W3 [sockets] a reader receives every change of the status', async (trial, id) => {
    const socket = await caughtUp(trial, id)
    await trial.play(id, [{ says: ['Done.'] }])
    for (const status of ['running', 'finished'])
      await trial.within('W3', `no reader received ${status}`, socket.find(says(status)))
    socket.close()
  }),
  it('B3 [sockets] a reader ahead of the log is reset, and receives the log from its first event', async (trial, id) => {
    await trial.say(id, [], false)
    const socket = await caughtUp(trial, id, 9_999)
    socket.close()
    hold('B3', socket.frames[0]?.type === 'reset', 'the first frame is not a reset')
    const all = (await trial.log(id)).map((event) => event.id)
    same('B3', 'events after the reset', idsIn(socket.frames).toSorted(), all.toSorted())
  }),
  test('W3 [sockets deletion] a socket of an unknown or deleted conversation closes with 4004', async (trial) => {
    const unknown = trial.client.connect('unheard-of')
    same('W3', 'close code', (await trial.within('W3', 'the socket is open', unknown.closed)).code, 4004)
    const id = await trial.begin()
    const socket = await caughtUp(trial, id)
    const { status } = await trial.client.delete(id)
    hold('W1', status === 200 || status === 204, `a deletion returned ${status}`)
    trial.conversations.pop()
    same('W3', 'close code', (await trial.within('W3', 'the socket is open', socket.closed)).code, 4004)
    same('W1', 'status after a deletion', (await trial.client.get(id)).status, 404)
  }),
]
