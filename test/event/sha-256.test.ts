/** The portable SHA-256 equals Node's for any bytes in any chunks. */

import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { portableHash } from '../../src/event/sha-256.ts'

it('portableHash equals the hash of Node.js for any bytes in any chunks', () => {
  const chunks = fc.array(fc.uint8Array({ maxLength: 200, size: 'max' }), { maxLength: 5 })
  fc.assert(
    fc.property(chunks, (parts) => {
      const [portable, native] = [portableHash(), createHash('sha256')]
      for (const part of parts) {
        portable.update(part)
        native.update(part)
      }
      expect(portable.digest('hex')).toBe(native.digest('hex'))
    }),
    { numRuns: 300 },
  )
})

it.each([0, 1, 55, 56, 63, 64, 65, 119, 120, 128, 1_000_003])(
  'portableHash equals the hash of Node.js for %i bytes',
  (length) => {
    const bytes = new Uint8Array(length).fill(0xe9)
    const portable = portableHash()
    portable.update(bytes)
    expect(portable.digest('hex')).toBe(createHash('sha256').update(bytes).digest('hex'))
  },
)
