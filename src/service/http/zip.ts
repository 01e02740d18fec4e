/** Writes an uncompressed zip as a stream; memory contains one file and the names of all. */

export const MAX_FILES = 65_535

export interface ZipFile {
  readonly path: string
  readonly text: string
}

const CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
  return value
})

function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of bytes) crc = (CRC[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8)
  return (crc ^ 0xffffffff) >>> 0
}

const encoder = new TextEncoder()

function packed(...numbers: readonly (readonly [value: number, bytes: 2 | 4])[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(numbers.reduce((sum, [, size]) => sum + size, 0))
  const view = new DataView(bytes.buffer)
  let offset = 0
  for (const [value, size] of numbers) {
    if (size === 2) view.setUint16(offset, value, true)
    else view.setUint32(offset, value, true)
    offset += size
  }
  return bytes
}

function joined(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let offset = 0
  for (const part of parts) {
    bytes.set(part, offset)
    offset += part.length
  }
  return bytes
}

/** 1980-01-01, the first day of the format: the events contain their own times. */
const DAY = 0x21

const common = (name: Uint8Array, data: Uint8Array): Uint8Array =>
  packed(
    [20, 2],
    [0x0800, 2],
    [0, 2],
    [0, 2],
    [DAY, 2],
    [crc32(data), 4],
    [data.length, 4],
    [data.length, 4],
    [name.length, 2],
    [0, 2],
  )

/** The parts of the zip, in order; at most `MAX_FILES` files, with 4 GiB in total. */
async function* zipOf(
  files: AsyncIterable<ZipFile>,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  const directory: Uint8Array[] = []
  let length = 0
  for await (const { path, text } of files) {
    const [name, data] = [encoder.encode(path), encoder.encode(text)]
    const shared = common(name, data)
    const part = joined(packed([0x04034b50, 4]), shared, name, data)
    directory.push(
      joined(
        packed([0x02014b50, 4], [20, 2]),
        shared,
        packed([0, 2], [0, 2], [0, 2], [0, 4], [length, 4]),
        name,
      ),
    )
    length += part.length
    yield part
  }
  const headers = joined(...directory)
  const { length: count } = directory
  yield joined(
    headers,
    packed([0x06054b50, 4], [0, 2], [0, 2], [count, 2], [count, 2], [headers.length, 4], [length, 4], [0, 2]),
  )
}

export function zipResponse(files: AsyncIterable<ZipFile>, name: string): Response {
  const parts = zipOf(files)
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const { done, value } = await parts.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await parts.return()
    },
  })
  return new Response(body, {
    headers: {
      'content-type': 'application/zip',
      'content-disposition': `attachment; filename="${name.replaceAll(/[^\w.-]/g, '_').slice(0, 100)}.zip"`,
    },
  })
}
