/** What the shapes of the providers' parts have in common. */

import { isAddress, isBase64 } from './files.ts'
import { readImage } from './images.ts'
import { listOf, nullable, object, optional, type OptionalField, type Shape, string, where } from './shape.ts'
import { isWellFormed, isWhitespace } from './text.ts'

/** Text that has bytes. */
export const text = /* @__PURE__ */ where(string, isWellFormed)

/** Text that says something, too. */
export const words = /* @__PURE__ */ where(text, (value) => !isWhitespace(value))

export const base64 = /* @__PURE__ */ where(string, isBase64)

/** Bytes that are a PDF. */
export const pdf = /* @__PURE__ */ where(base64, (data) => data.startsWith('JVBERi0'))

/** A file as a data URL. */
export const dataUrl = /* @__PURE__ */ where(string, (url) => {
  const match = /^data:[\w.+-]+\/[\w.+-]+;base64,/.exec(url)
  return match !== null && isBase64(url.slice(match[0].length))
})

export const secureUrl = /* @__PURE__ */ where(string, (url) => isAddress(url, true))

export const webUrl = /* @__PURE__ */ where(string, (url) => isAddress(url, false))

/** An image that every provider reads, as a URL. */
export const imageUrl = /* @__PURE__ */ where(string, (url) => {
  const read = readImage(url)
  return (
    read !== null &&
    (read.from === 'web' ? read.url === url : url === `data:${read.mediaType};base64,${read.data}`)
  )
})

/** An id as providers give and take them. */
export const id = /* @__PURE__ */ where(string, (value) => /^[a-zA-Z0-9_-]{1,128}$/.test(value))

export const mediaType = /* @__PURE__ */ where(string, (type) => /^[a-z]+(?:\/[\w.+*-]+)?$/.test(type))

export const objects = /* @__PURE__ */ listOf(object)

/** A field that may be absent or null. */
export const absent = <T>(shape: Shape<T>): OptionalField<T | null> => optional(nullable(shape))
