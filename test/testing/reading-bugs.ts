/** Deliberate bugs in the server's reads: pages, counts, single events and sockets. */

import type { SeededBug } from './seeded-bugs.ts'

export const READING_BUGS: readonly SeededBug[] = [
  {
    name: 'a search from an instant excludes the instant',
    file: 'search.ts',
    find: 'time >= from &&',
    replace: 'time > from &&',
    law: 'W1',
  },
  {
    name: 'a search before an instant includes the instant',
    file: 'search.ts',
    find: 'time < until)',
    replace: 'time <= until)',
    law: 'W1',
  },
  {
    name: 'a count excludes events that the search finds',
    file: 'search.ts',
    find: 'matches(events, search, null).length',
    replace: "matches(events, search, 'ConversationStateUpdateEvent').length",
    law: 'W1',
  },
  {
    name: 'a page id skips events of the same instant',
    file: 'search.ts',
    find: 'item.time - after[0] || item.position - after[1]',
    replace: 'item.time - after[0]',
    law: 'C1',
  },
  {
    name: 'a page repeats the last event of the previous one',
    file: 'search.ts',
    find: 'isDescending ? distance < 0 : distance > 0',
    replace: 'isDescending ? distance <= 0 : distance >= 0',
    law: 'C1',
  },
  {
    name: 'a full last page has a next page',
    file: 'search.ts',
    find: 'start + limit >= order.length',
    replace: 'start + limit > order.length',
    law: 'C1',
  },
  {
    name: 'a page id is an offset, and earlier events were added',
    file: 'search.ts',
    find: `order.findIndex((item) => isAfter(item, after, isDescending))
  const page = start < 0 ? [] : order.slice(start, start + limit)
  const last = page.at(-1)`,
    replace: `after[1]
  const page = order.slice(start, start + limit)
  const last = page.length === 0 ? undefined : { time: 0, position: start + limit }`,
    law: 'C2',
  },
  {
    name: 'events of one instant keep their order in a descending search',
    file: 'search.ts',
    find: 'all.toReversed()',
    replace: 'all.toSorted((a, b) => b.time - a.time)',
    law: 'C3',
  },
  {
    name: 'a page id of another search is accepted',
    file: 'search.ts',
    find: 'if (digest !== digestOf(`${time}.${position}`, query))',
    replace: "if (digest === '')",
    law: 'C4',
  },
  {
    name: 'a limit above the maximum is accepted',
    file: 'search.ts',
    find: 'Number(limit) > 100',
    replace: 'Number(limit) > 1_000',
    law: 'W1',
  },
  {
    name: 'an error response has another shape',
    file: 'server.ts',
    find: '{ detail: error.detail }',
    replace: '{ error: error.detail }',
    law: 'W1',
  },
  {
    name: 'a prefix of the key is accepted',
    file: 'server.ts',
    find: "request.headers['x-session-api-key'] !== API_KEY",
    replace: "!String(request.headers['x-session-api-key']).startsWith(API_KEY)",
    law: 'W6',
  },
  {
    name: 'a single event shows sealed reasoning',
    file: 'server.ts',
    find: '    return toClient(event)',
    replace: '    return event',
    law: 'X1',
  },
  {
    name: 'a socket shows sealed reasoning',
    file: 'server.ts',
    find: "send('event', toClient(event))",
    replace: "send('event', event)",
    law: 'X1',
  },
  {
    name: 'a shared conversation shows events that are not for viewers',
    file: 'server.ts',
    find: "readSearch(query), id, 'ConversationStateUpdateEvent')",
    replace: 'readSearch(query), id)',
    law: 'W2',
  },
  {
    name: 'an unshared conversation is shared',
    file: 'server.ts',
    find: 'log?.isPublic === true ? log.events : []',
    replace: 'log?.events ?? []',
    law: 'W2',
  },
  {
    name: 'live readers get only the first event of a batch',
    file: 'log.ts',
    find: 'events.forEach((event, index) => reader.event(event, from + index))',
    replace: 'events.slice(0, 1).forEach((event, index) => reader.event(event, from + index))',
    law: 'B1',
  },
  {
    name: 'a reader that reconnects gets the last event again',
    file: 'server.ts',
    find: 'for (let index = from + 1;',
    replace: 'for (let index = Math.max(from, 0);',
    law: 'B1',
  },
  {
    name: 'a reader ahead of the log is not reset',
    file: 'server.ts',
    find: 'if (last >= log.events.length)',
    replace: 'if (last >= Infinity)',
    law: 'B3',
  },
  {
    name: 'the first piece of a reply is lost',
    file: 'model.ts',
    find: '      onText(delta.content)',
    replace: '      if (text !== delta.content) onText(delta.content)',
    law: 'W3',
  },
  {
    name: 'readers get no change of the status',
    file: 'log.ts',
    find: "if (status !== this.status) this.update('execution_status', status)",
    replace: 'this.status = status',
    law: 'W3',
  },
  {
    name: 'a socket of a deleted conversation stays open',
    file: 'conversations.ts',
    find: '    for (const reader of log.readers) reader.end()',
    replace: '',
    law: 'W3',
  },
]
