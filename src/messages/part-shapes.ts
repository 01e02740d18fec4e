/** What the shapes of the providers' parts have in common. */

import { isAddress, isBase64 } from './files.ts'
import { readImage } from './images.ts'
import { string, where } from './shape.ts'
import { isWellFormed, isWhitespace } from './text.ts'

/** Text that has bytes. */
export const text = where(string, isWellFormed)

/** Text that says something, too. */
export const words = where(text, (value) => !isWhitespace(value))

export const base64 = where(string, isBase64)

/** Bytes that are a PDF. */
export const pdf = where(base64, (data) => data.startsWith('JVBERi0'))

/** A file as a data URL. */
export const dataUrl = where(string, (url) => {
  const match = /^data:[\w.+-]+\/[\w.+-]+;base64,/.exec(url)
  return match !== null && isBase64(url.slice(match[0].length))
})

export const secureUrl = where(string, (url) => isAddress(url, true))

export const webUrl = where(string, (url) => isAddress(url, false))

/** An image that every provider reads, as a URL. */
export const imageUrl = where(string, (url) => {
  const read = readImage(url)
  return (
    read !== null &&
    (read.from === 'web' ? read.url === url : url === `data:${read.mediaType};base64,${read.data}`)
  )
})
