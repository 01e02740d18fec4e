/** Builds archives byte by byte, including ones that no tool would write. */

import { crc32, deflateRawSync } from 'node:zlib'

/** False claims about a file of an archive. */
export interface Claims {
  readonly unpacked?: number
  readonly crc?: number
  /** Bit 0: encrypted. */
  readonly flags?: number
  readonly method?: number
  /** Index of another file whose bytes this one shares. */
  readonly sameAs?: number
}

export function makeZip(
  files: Readonly<Record<string, string | Buffer>>,
  claims: Readonly<Record<string, Claims>> = {},
): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  const offsets: number[] = []
  let length = 0
  for (const [name, content] of Object.entries(files)) {
    const claim = claims[name] ?? {}
    const data = Buffer.from(content)
    const packed = deflateRawSync(data)
    const header = Buffer.alloc(26)
    header.writeUInt16LE(20, 0)
    header.writeUInt16LE(claim.flags ?? 0x0800, 2)
    header.writeUInt16LE(claim.method ?? 8, 4)
    header.writeUInt32LE(claim.crc ?? crc32(data), 10)
    header.writeUInt32LE(packed.length, 14)
    header.writeUInt32LE(claim.unpacked ?? data.length, 18)
    header.writeUInt16LE(Buffer.byteLength(name), 22)
    const offset = claim.sameAs === undefined ? length : (offsets[claim.sameAs] as number)
    offsets.push(offset)
    if (claim.sameAs === undefined) {
      const local = Buffer.concat([Buffer.from('PK\u0003\u0004'), header, Buffer.from(name), packed])
      parts.push(local)
      length += local.length
    }
    const end = Buffer.alloc(14)
    end.writeUInt32LE(offset, 10)
    directory.push(Buffer.concat([Buffer.from('PK\u0001\u0002\u0014\u0000'), header, end, Buffer.from(name)]))
  }
  const entries = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\u0005\u0006', 'latin1')
  end.writeUInt16LE(directory.length, 8)
  end.writeUInt16LE(directory.length, 10)
  end.writeUInt32LE(entries.length, 12)
  end.writeUInt32LE(length, 16)
  return Buffer.concat([...parts, entries, end])
}
