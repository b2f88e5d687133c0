"""Boxes of faces out of what detectors return, and how good they are beside those of the float net."""
import numpy as np

from quantized import pictures

WITH_FACES = ("ultraface_rfb320/1.jpg", "yunet_face/grace_hopper.bmp", "movenet_lightning_int8/image3.jpeg")
# What is a face of the float net, and what counts at all.
LEAST_SCORE = 0.5
COUNTED = 0.05
SAME = 0.5


def squares(models, side, count, seed):
    """Samples of 0 to 255, of all sizes down to a fifth of a picture, every second one mirrored."""
    random = np.random.default_rng(seed)
    photographs = [pictures.Image.open(models / file).convert("RGB") for file in WITH_FACES]
    found = [np.asarray(pictures.cut(photographs[i % len(photographs)], side, random, 0.2), np.float32)
             for i in range(count)]
    return np.stack([pixels[:, ::-1] if i % 2 else pixels for i, pixels in enumerate(found)])


def overlap(box, boxes):
    """Shares that are common to both; boxes as left, top, right, bottom."""
    size = np.maximum(0, np.minimum(box[2:], boxes[:, 2:]) - np.maximum(box[:2], boxes[:, :2]))
    area = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1) + np.prod(box[2:] - box[:2])
    common = np.prod(size, axis=1)
    return common / np.maximum(area - common, 1e-9)


def best(scores, boxes):
    """Those that score at all, none of which covers much of a better one; with their scores."""
    kept = []
    for i in np.argsort(-scores, kind="stable"):
        if scores[i] < COUNTED:
            break
        if not kept or overlap(boxes[i], boxes[kept]).max() < 0.3:
            kept.append(i)
    return scores[kept], boxes[kept].reshape(-1, 4)


def corners(centres, sizes):
    return np.concatenate([centres - sizes / 2, centres + sizes / 2], axis=1)


def anchors(grid, times):
    rows, columns = np.mgrid[:grid, :grid]
    return np.repeat((np.stack([columns, rows], -1).reshape(-1, 2) + 0.5) / grid, times, axis=0)


def short_range_boxes(outputs, i):
    """Of the MediaPipe detector's outputs `classificators` and `regressors`."""
    scores = 1 / (1 + np.exp(-np.clip(outputs[0][i, :, 0], -80, 80)))
    numbers = outputs[1][i] / 128
    return best(scores, corners(np.concatenate([anchors(16, 2), anchors(8, 6)]) + numbers[:, :2], numbers[:, 2:4]))


def yunet_boxes(outputs, i):
    """Of the outputs by name: bbox_16, bbox_32, bbox_8, cls_..., kps_..., obj_..."""
    scores, boxes = [], []
    for level, stride in enumerate((16, 32, 8)):
        box, named, _, is_object = (outputs[3 * kind + level][i] for kind in range(4))
        grid = round(len(box) ** 0.5)
        scores.append(np.sqrt(np.clip(named[:, 0], 0, 1) * np.clip(is_object[:, 0], 0, 1)))
        boxes.append(corners((anchors(grid, 1) * grid - 0.5 + box[:, :2]) * stride, np.exp(box[:, 2:]) * stride))
    return best(np.concatenate(scores), np.concatenate(boxes))


def average_precision(boxes_of, reference, outputs):
    """Of the boxes that are found, from the best score on, how many of the float net's faces they are: the area below
    precision over recall."""
    faces, ranked = 0, []
    for i in range(len(outputs[0])):
        scores, wanted = boxes_of(reference, i)
        wanted = list(wanted[scores >= LEAST_SCORE])
        faces += len(wanted)
        for score, box in zip(*boxes_of(outputs, i)):
            shares = overlap(box, np.stack(wanted)) if wanted else np.zeros(1)
            right = shares.max() >= SAME
            if right:
                wanted.pop(int(shares.argmax()))
            ranked.append((score, right))
    ranked.sort(key=lambda pair: -pair[0])
    right = np.array([pair[1] for pair in ranked], bool)
    precision = np.cumsum(right) / np.arange(1, len(right) + 1)
    best_from_here = np.maximum.accumulate(precision[::-1])[::-1]
    return float(np.sum(best_from_here[right]) / faces)
