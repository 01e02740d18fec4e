/** Ids of events that are appended once for a key of their writer. */

import { hashText } from '../event/short-hash.ts'

/** Alike for one key in every process, and another one in every conversation. */
export const keyedId = (kind: 'message' | 'policy' | 'edit', conversationId: string, key: string): string =>
  `${kind}-${hashText(`${conversationId}\n${key}`)}`
