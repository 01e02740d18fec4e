/**
 * What a grammar writes, beside the digest that stands for it in the prefix: of role and block, whatever messages they
 * are put in.
 */

import { type Digest, digestBeside, digestOf, digestOfAll } from './digest.ts'
import { pieceDigest } from './pieces.ts'
import type { Call, Result } from './turns.ts'

/** A block of a request. */
export interface Written<Block> {
  readonly block: Block
  /** Made only where it is asked for. */
  readonly digest: () => Digest
}

/** Who says a block: `front` is the system prompt before all messages. */
export type Role = 'front' | 'system' | 'user' | 'assistant'

const ROLES: Readonly<Record<Role, Digest>> = {
  front: digestOf('front'),
  system: digestOf('system'),
  user: digestOf('user'),
  assistant: digestOf('assistant'),
}

const [CALL, RESULT, ERROR] = [digestOf('call'), digestOf('result'), digestOf('error')] as const

/** The digest of a block in the mouth of a role. O(1). */
export const roleDigest = (role: Role, digest: Digest): Digest => digestOfAll(ROLES[role], digest)

/**
 * The digest of a call as it is sent; `item` is the id that the provider gave it in its own list, where that is sent
 * too.
 */
export const callDigest = ({ id, name, source }: Call, item = ''): Digest =>
  digestOfAll(CALL, digestOf(id), digestOf(name), digestBeside(source, 0, source.arguments), digestOf(item))

/** The digest of a result as it is sent. */
export const resultDigest = ({ call, pieces, isError }: Result): Digest =>
  digestOfAll(isError ? ERROR : RESULT, digestOf(call.id), ...pieces.map(pieceDigest))
