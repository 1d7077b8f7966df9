"""Layers, one file each, and what a layer of one's own is made of."""

from fedcert.model.layers.activation import Activation as Activation
from fedcert.model.layers.activation import Line as Line
from fedcert.model.layers.activation import Lines as Lines
from fedcert.model.layers.activation import Rising as Rising
from fedcert.model.layers.activation import monotone_points as monotone_points
from fedcert.model.layers.avg_pool2d import AvgPool2d as AvgPool2d
from fedcert.model.layers.conv2d import Conv2d as Conv2d
from fedcert.model.layers.leaky_relu import LeakyReLU as LeakyReLU
from fedcert.model.layers.linear import Linear as Linear
from fedcert.model.layers.max_pool2d import MaxPool2d as MaxPool2d
from fedcert.model.layers.protocol import Affine as Affine
from fedcert.model.layers.protocol import Branched as Branched
from fedcert.model.layers.protocol import Layer as Layer
from fedcert.model.layers.protocol import Unrolled as Unrolled
from fedcert.model.layers.registry import register_layer as register_layer
from fedcert.model.layers.relu import ReLU as ReLU
from fedcert.model.layers.residual import ResidualSum as ResidualSum
from fedcert.model.layers.s_shaped import Sigmoid as Sigmoid
from fedcert.model.layers.s_shaped import Tanh as Tanh
