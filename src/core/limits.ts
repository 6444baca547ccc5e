/**
 * Every limit of daglog, each with its unit last in its name.
 * A limit that is not here does not exist; a test holds this file against docs/format.md.
 */

/** Largest encoded value kept inside an event, in bytes; larger ones go out of line as objects. */
export const VALUE_INLINE_BYTES_MAX = 4096

/**
 * A string or byte array this long goes out of line by itself wherever in the data it is, in bytes.
 */
export const VALUE_HOIST_BYTES_MIN = 64 * 1024

/** Largest frame, in bytes, its newline included. Values over the inline limit do not count. */
export const FRAME_BYTES_MAX = 16 * 1024 * 1024

/** Largest event type, in bytes. */
export const TYPE_BYTES_MAX = 64

/** Largest operation id, in bytes of UTF-8. */
export const OPERATION_BYTES_MAX = 1024

/** Largest run id, in bytes of UTF-8. */
export const RUN_ID_BYTES_MAX = 1024

/** Most frames in one atomic append. */
export const APPEND_FRAMES_MAX = 65_536

/** Open objects of a run are sealed into a pack once they reach this many bytes. */
export const OPEN_OBJECTS_BYTES_MAX = 8 * 1024 * 1024

/**
 * A put with this many new bytes or more goes straight into a pack, so that all runs share it at
 * once.
 */
export const DIRECT_PACK_BYTES_MIN = 1024 * 1024

/** Uncompressed size at which a pack block is closed, in bytes. */
export const PACK_BLOCK_BYTES = 256 * 1024

/**
 * Most bytes of data that stay inside a body once its large members are out of line; more, and all
 * of it goes.
 */
export const BODY_DATA_BYTES_MAX = 64 * 1024

/** Read unit of a log, in bytes. */
export const READ_BYTES = 256 * 1024

/** Frames that wait are committed together up to about this many bytes. */
export const BATCH_BYTES_MAX = 8 * 1024 * 1024

/** The same where objects are packed densely: smaller, and slower to read here and there. */
export const DENSE_BLOCK_BYTES = 1024 * 1024

/** The list of runs is snapshotted each time this many frames of the store's log are new. */
export const HEADS_SNAPSHOT_FRAMES = 64

/**
 * A run's head is noted in the store's log at least each time its log has grown by this many bytes.
 */
export const HEAD_EVERY_BYTES = 16 * 1024 * 1024

/** Decoded pack blocks that one open store keeps in memory, in bytes. */
export const BLOCK_CACHE_BYTES_MAX = 32 * 1024 * 1024

/** Lines of a log at rest are packed in blocks of about this many bytes. */
export const COLD_BLOCK_BYTES = 256 * 1024

/**
 * The log of an ended run is laid to rest from this size on, in bytes; a smaller one stays text.
 */
export const COLD_ENDED_BYTES_MIN = 64 * 1024

/** The closed part of an open run's log is laid to rest once it is this long, in bytes. */
export const COLD_OPEN_BYTES_MIN = 64 * 1024 * 1024

/**
 * Objects of runs that are imported together go into one pack of about this many bytes, before
 * compression.
 */
export const DRAFT_OBJECTS_BYTES = 32 * 1024 * 1024

/** A pack below this many bytes is small, and is merged with others. */
export const PACK_SMALL_BYTES_MAX = 8 * 1024 * 1024

/** Small packs are merged once there are this many of them. */
export const PACKS_SMALL_MAX = 16

/** States of projections are snapshotted at least each time this many events are new to them. */
export const FOLD_SNAPSHOT_EVENTS = 4096

/** Most pieces of a streamed message in one frame. */
export const CHUNK_PIECES_MAX = 64

/**
 * A piece of a streamed message waits at most about this long for others to share its frame, in ms.
 */
export const CHUNK_WAIT_MS = 1000

/** Values of `run.now` and its like that wait in memory for the next event, at most. */
export const TICK_PIECES_MAX = 32

/** A question to a person looks for an answer from another process at least this often, in ms. */
export const ASK_POLL_MS = 200

/** Longest line that a pattern is matched against as a whole, in bytes; a longer one is cut. */
export const SEARCH_LINE_BYTES_MAX = 8 * 1024 * 1024

/** Longest that a pattern may take on a piece of text, about a megabyte, in ms. */
export const SEARCH_PIECE_MS_MAX = 5_000

/**
 * Longest head of a request or a response that the sidecar passes on, in bytes; its header lines
 * together.
 */
export const PROXY_HEAD_BYTES_MAX = 1024 * 1024
/**
 * A body of an exchange that decodes to more than this is left encoded where it is read, in bytes.
 */
export const HTTP_DECODED_BYTES_MAX = 256 * 1024 * 1024

/**
 * A body of an exchange is kept whole in memory up to this many bytes; a longer one goes to the
 * objects as it comes.
 */
export const HTTP_HELD_BYTES_MAX = 1024 * 1024

/** A body of an exchange goes out of line from this size on, in bytes. */
export const HTTP_HOIST_BYTES_MIN = 512

/**
 * Bodies of an exchange that are larger together have no place in a HAR, which is text, in bytes.
 */
export const HAR_BODY_BYTES_MAX = 128 * 1024 * 1024
/** A request body longer than this counts in its key by its raw bytes, in bytes. */
export const HTTP_KEYED_BYTES_MAX = 64 * 1024 * 1024

/** A body with a content-encoding is kept with it up to this many bytes; a longer one without. */
export const HTTP_CODED_BYTES_MAX = 8 * 1024 * 1024

/** A HAR or a cassette is read up to this size, since it is one document, in bytes. */
export const HAR_FILE_BYTES_MAX = 256 * 1024 * 1024
