import { textContent, withReferences } from '../../src/store/kit/blobs.ts'
import { blobText } from '../../src/event/text.ts'
import { altered, type Fault } from './altered.ts'

export const BLOB_FAULTS: readonly Fault[] = [
  [
    'ignores `blobs: refs` in read',
    'blobs: bodies are returned unchanged, or with references in place of long strings',
    () => altered((inner) => ({ read: (id, options) => inner.read(id, { ...options, blobs: 'whole' }) })),
  ],
  [
    'resolves text that only looks like a blob reference',
    'blobs: bodies are returned unchanged, or with references in place of long strings',
    () =>
      altered((inner) => ({
        async read(id, options) {
          const events = await inner.read(id, options)
          return events.map((event) => {
            const text = JSON.stringify(event.fact)
            const isReference = event.blobs === undefined && text.includes(`"${blobText('')}`)
            return isReference ? { ...event, fact: JSON.parse(text.replaceAll(blobText(''), '')) } : event
          })
        },
      })),
  ],
  [
    'limits a page of references by the size of whole bodies',
    'blobs: read, get, getMany and search return equal references, and the page size counts these',
    () =>
      altered((inner) => ({
        async search(query) {
          const page = await inner.search({ ...query, blobs: 'whole' })
          if (query.blobs !== 'refs') return inner.search(query)
          return { ...page, items: page.items.map((event) => withReferences(event)) }
        },
      })),
  ],
  [
    'returns a blob to a conversation that does not use it',
    'blobs: byte ranges can be read, only through a conversation that contains the string',
    () =>
      altered((inner) => ({
        readBlob: (id, hash, range) => inner.readBlob(id === 'other' ? 'c' : id, hash, range),
      })),
  ],
  [
    'includes the end of a range',
    'blobs: byte ranges can be read, only through a conversation that contains the string',
    () =>
      altered((inner) => ({
        readBlob: (id, hash, { end, ...range } = {}) =>
          inner.readBlob(id, hash, end === undefined ? range : { ...range, end: end + 1 }),
      })),
  ],
  [
    'keeps blobs of deleted conversations',
    'blobs: a string is deleted with the last event that contains it, in any conversation',
    () => {
      const texts = new Map<string, string>()
      return altered((inner) => ({
        async readBlob(id, hash, range) {
          const blob = await inner.readBlob(id, hash, range)
          if (blob === null) {
            const text = texts.get(hash)
            return text === undefined
              ? null
              : textContent({ path: [], hash, bytes: text.length, text }, range)
          }
          texts.set(hash, 'x')
          return blob
        },
      }))
    },
  ],
]
