/** Text that grows while readers follow it: its content, and the cost of reading it. */

import * as fc from 'fast-check'
import { afterEach, expect, it, vi } from 'vitest'
import { StreamedReply, GrowingText } from '../../src/conversation/streamed.ts'

afterEach(() => vi.restoreAllMocks())

it('GrowingText has the length and the slices of a string', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 5 })), fc.nat(60), fc.nat(60), (pieces, from, to) => {
      const growing = new GrowingText()
      for (const piece of pieces) growing.add(piece)
      const text = pieces.join('')
      expect(growing.length).toBe(text.length)
      expect(growing.slice(from, to)).toBe(from < to ? text.slice(from, to) : '')
      expect(growing.some((piece) => piece.includes('a'))).toBe(text.includes('a'))
    }),
  )
})

it('a reader that keeps up gets each text without slicing a longer one', () => {
  let slicedLength = 0
  const { slice } = String.prototype
  vi.spyOn(String.prototype, 'slice').mockImplementation(function (this: string, from, to) {
    // Slicing a concatenated string flattens and copies all of it.
    slicedLength += this.length
    return slice.call(this, from, to)
  })
  const reply = new StreamedReply('r', true)
  let position = { content: 0, reasoning: 0 }
  for (let n = 0; n < 2_000; n += 1) {
    const text = `word ${n} `
    const isContent = n % 3 > 0
    reply.add({ content: isContent ? text : '', reasoning: isContent ? '' : text, logLength: 1 })
    const next = reply.next(position, 1)
    if (next === null) throw new Error('nothing is next')
    const event = reply.between(position, next)
    expect(isContent ? event.content : event.reasoning_content).toBe(text)
    position = { ...next }
  }
  expect(slicedLength).toBe(0)
})
